/** Surface B: a tenant of the organisation, as low-code tools speak to it. Specification: Surface B. */
import { HttpApi } from "@effect/platform"
import { Authenticated } from "../auth/Authenticated.js"
import { withFailures } from "../Errors.js"
import { CredentialsApi } from "./CredentialsApi.js"

export const TenantApi = withFailures(HttpApi.make("tenant").add(CredentialsApi.middleware(Authenticated)))
