/** The contract of surface B, for low-code tools; its tenants are the organisation's customers. Specification: Surface B. */
import { HttpApi } from "@effect/platform"
import { Authenticated } from "../auth/CurrentExchange.js"
import { CredentialsApi } from "./CredentialsApi.js"
import { TenantDeadLettersApi } from "./DeadLettersApi.js"
import { TenantFailures } from "./ErrorSchemas.js"
import { TenantEventsApi } from "./EventsApi.js"

/** Surface B. */
export const TenantApi = HttpApi.make("tenant")
  .addError(TenantFailures)
  .add(CredentialsApi.middleware(Authenticated))
  .add(TenantEventsApi.middleware(Authenticated))
  .add(TenantDeadLettersApi.middleware(Authenticated))
