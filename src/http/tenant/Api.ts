/** Surface B: a tenant of the organisation, as low-code tools speak to it. Specification: Surface B. */
import { HttpApi } from "@effect/platform"
import { Authenticated } from "../auth/Authenticated.js"
import {
  BadRequest,
  Conflicting,
  Invalid,
  Missing,
  NoAnswer,
  NotAllowed,
  NotAuthorized,
  NotNow,
  SlowAnswer,
  TookTooLong,
  TooLarge,
  TooMany,
  WrongMediaType
} from "../Errors.js"
import { CredentialsApi } from "./CredentialsApi.js"

export const TenantApi = HttpApi.make("tenant")
  .add(CredentialsApi.middleware(Authenticated))
  .addError(BadRequest)
  .addError(NotAuthorized)
  .addError(NotAllowed)
  .addError(Missing)
  .addError(Conflicting)
  .addError(TooLarge)
  .addError(WrongMediaType)
  .addError(Invalid)
  .addError(TooMany)
  .addError(TookTooLong)
  .addError(NoAnswer)
  .addError(SlowAnswer)
  .addError(NotNow)
