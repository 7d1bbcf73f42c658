-- The console's login: it reads, never writes, and sees the namespaces that it set for the transaction. It is trusted to
-- set those that the viewer may see; that it forgets to is what row-level security is there for: nothing set, nothing seen.
CREATE TABLE sendonce.consoles (
  role       text PRIMARY KEY,
  created_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE sendonce.consoles ENABLE ROW LEVEL SECURITY;

-- The namespaces of this transaction; null for any login but the console's.
CREATE FUNCTION sendonce.viewed_namespaces() RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM sendonce.consoles c WHERE c.role = session_user::text) THEN
    RETURN NULL;
  END IF;
  RETURN string_to_array(nullif(current_setting('sendonce.viewed', true), ''), ',');
END $$;

-- Names of namespaces are all that the console learns of those that it did not set. One step per name over the unique key.
CREATE FUNCTION sendonce.namespaces_in_use() RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM sendonce.consoles c WHERE c.role = session_user::text) THEN
    IF sendonce.acting_for() IS NOT NULL THEN
      RETURN NEXT sendonce.own_namespace();
      RETURN;
    END IF;
  END IF;
  RETURN QUERY WITH RECURSIVE found AS (
    (SELECT c.namespace FROM sendonce.campaigns c ORDER BY c.namespace LIMIT 1)
    UNION ALL
    SELECT (SELECT c.namespace FROM sendonce.campaigns c WHERE c.namespace > f.namespace ORDER BY c.namespace LIMIT 1)
      FROM found f WHERE f.namespace IS NOT NULL)
  SELECT f.namespace FROM found f WHERE f.namespace IS NOT NULL;
END $$;

-- What the campaign's links are made with: for a worker, and for the console, which shows again what went out. No row: it has
-- none. The first answer holds for ever, but with null for the address nothing is settled: somebody only looks. The
-- console sees the namespaces that it set, and settles nothing.
CREATE FUNCTION sendonce.campaign_links(campaign bigint, wanted_url text)
RETURNS TABLE (url text, namespace text, key_id bytea, key bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  looks boolean := EXISTS (SELECT FROM sendonce.consoles c WHERE c.role = session_user::text);
  own text[];
  known record;
BEGIN
  IF looks THEN
    own := coalesce(sendonce.viewed_namespaces(), '{}');
  ELSIF sendonce.acting_for() IS NOT NULL THEN
    own := ARRAY[sendonce.acting_for()];
  END IF;
  SELECT c.namespace, c.links_url INTO known FROM sendonce.campaigns c
   WHERE c.id = campaign AND (own IS NULL OR c.namespace = ANY (own));
  IF NOT FOUND THEN
    RAISE EXCEPTION 'campaign % is not for namespace %', campaign, array_to_string(own, ', ') USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF known.links_url IS NULL AND wanted_url IS NOT NULL AND NOT looks THEN
    UPDATE sendonce.campaigns c
       SET links_url = wanted_url,
           links_key = CASE WHEN wanted_url <> '' THEN sendonce.current_link_key(known.namespace) END
     WHERE c.id = campaign AND c.links_url IS NULL;
  END IF;
  RETURN QUERY SELECT c.links_url, k.namespace, k.id, k.key
                 FROM sendonce.campaigns c JOIN sendonce.link_keys k ON k.id = c.links_key WHERE c.id = campaign;
END $$;

-- One login, made by `sendonce tenant console`; asked again, it gets another password. `verifier` is the password as the
-- server keeps it.
CREATE FUNCTION sendonce.console_login() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT 'sendonce_console_' || left(encode(sha256(convert_to(current_database(), 'UTF8')), 'hex'), 8)
$$;

CREATE FUNCTION sendonce.make_console_login(verifier text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  role_name text := sendonce.console_login();
BEGIN
  IF sendonce.is_our_role(role_name, 'console') THEN
    EXECUTE format('ALTER ROLE %I LOGIN PASSWORD %L', role_name, verifier);
  ELSE
    EXECUTE format('CREATE ROLE %I LOGIN PASSWORD %L', role_name, verifier);
    EXECUTE format('COMMENT ON ROLE %I IS %L', role_name, sendonce.role_comment('console'));
  END IF;
  INSERT INTO sendonce.consoles (role) VALUES (role_name) ON CONFLICT DO NOTHING;
  RETURN role_name;
END $$;

-- Who applied the campaign, as its object says it; not proved by anybody.
ALTER TABLE sendonce.campaigns ADD COLUMN applied_by text;
