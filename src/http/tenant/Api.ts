/** The contract of surface B, for low-code tools; its tenants are the organisation's customers. Specification: Surface B. */
import { HttpApi } from "@effect/platform"
import { Authenticated } from "../auth/CurrentExchange.js"
import { CredentialsApi } from "./CredentialsApi.js"
import { TenantFailures } from "./ErrorSchemas.js"

/** Surface B. */
export const TenantApi = HttpApi.make("tenant").addError(TenantFailures).add(CredentialsApi.middleware(Authenticated))
