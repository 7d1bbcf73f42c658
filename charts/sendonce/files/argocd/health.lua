-- The health of Sendonce's objects for Argo CD, which knows none for kinds that are not Kubernetes' own.
-- Set it for each kind in the ConfigMap argocd-cm:
--   resource.customizations.health.sendonce.dev_NotificationCampaign: | <this file>
-- and likewise for NotificationProvider, ClusterNotificationProvider and NotificationAction.
--
-- Progressing until the operator has seen the spec as it is; Degraded when a person is needed; Suspended when hand-off
-- stands still because somebody wished it, also over a provider; Healthy when Sendonce does what the spec says, also while
-- it still sends.

local function health(status, message)
  return { status = status, message = message or "" }
end

local status = obj.status
if status == nil or status.conditions == nil or status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "waits for the operator to see the spec")
end

local conditions = {}
for _, condition in ipairs(status.conditions) do
  conditions[condition.type] = condition
end

local function holds(kind)
  return conditions[kind] ~= nil and conditions[kind].status == "True"
end

local function says(kind)
  local condition = conditions[kind] or {}
  return (condition.reason or "") .. ": " .. (condition.message or "")
end

if holds("Stalled") then
  return health("Degraded", says("Stalled"))
end
if obj.kind == "NotificationAction" then
  if holds("Complete") then
    return health("Healthy", says("Complete"))
  end
  return health("Progressing", says("Complete"))
end

local ready = conditions.Ready or {}
if ready.status == "Unknown" then
  return health("Progressing", says("Ready"))
end
if holds("Suspended") or ready.reason == "Suspended" then
  return health("Suspended", says("Ready"))
end
if ready.status == "True" then
  return health("Healthy", says("Ready"))
end
return health("Progressing", says("Ready"))
