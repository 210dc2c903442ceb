/** The use cases of people, keys, roles and secrets, and of signing in, as one layer. */
import { Layer } from "effect"
import { ApiKeys } from "./ApiKeys.js"
import { CallbackSecret } from "./CallbackSecret.js"
import { InvitationAcceptance } from "./InvitationAcceptance.js"
import { MailSignIn } from "./MailSignIn.js"
import { OwnSessions } from "./OwnSessions.js"
import { ProviderSignIn } from "./ProviderSignIn.js"
import { Roles } from "./Roles.js"
import { Secrets } from "./Secrets.js"
import { SignIn } from "./SignIn.js"
import { Users } from "./Users.js"
import { SignInMails } from "./SignInMails.js"

export const accessUseCases = Layer.mergeAll(
  ApiKeys.Default,
  CallbackSecret.Default,
  InvitationAcceptance.Default,
  MailSignIn.Default,
  OwnSessions.Default,
  ProviderSignIn.Default,
  Roles.Default,
  Secrets.Default,
  SignIn.Default,
  Users.Default
).pipe(Layer.provide(SignInMails.Default))
