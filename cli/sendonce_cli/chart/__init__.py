"""What the Helm chart runs in Pods: the campaign of `helm test`, and the look before an uninstall."""
