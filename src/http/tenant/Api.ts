/** Surface B: a tenant of the organisation, as low-code tools speak to it. Specification: Surface B. */
import { HttpApi } from "@effect/platform"
import { Authenticated } from "../auth/Authenticated.js"
import { CredentialsApi } from "./CredentialsApi.js"
import { TenantFailures } from "./Failures.js"

export const TenantApi = HttpApi.make("tenant").addError(TenantFailures).add(CredentialsApi.middleware(Authenticated))
