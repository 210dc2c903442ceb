/** Lets requests read why a provider refused a subscription, which a retry keeps. The secret and the address stay closed. */
import { script } from "./policies.js"

export default script(
  "GRANT SELECT (last_error, expires_at), UPDATE (last_error, expires_at) ON subscriptions TO svc_app"
)
