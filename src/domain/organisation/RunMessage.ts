/** What a run sends with `svc.notify`. Contract: notification record. */
import { Either, Schema } from "effect"
import { runNotifications } from "../Limits.js"
import { settingsReader } from "../run/CallSettings.js"
import {
  Address,
  type ExternalChannel,
  HookUrl,
  notificationChannels,
  type NotificationTargets,
  severities
} from "./Notification.js"

const nullable = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))
const Target = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(2_048))

const RunMessage = Schema.Struct({
  channel: Schema.Literal(...notificationChannels),
  to: nullable(Schema.Union(Target, Schema.Array(Target).pipe(Schema.maxItems(runNotifications.targets)))),
  subject: nullable(Schema.String.pipe(Schema.maxLength(200))),
  body: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(4_000)),
  severity: nullable(Schema.Literal(...severities))
})
export type RunMessage = typeof RunMessage.Type

/** The message that a run gave, or what is wrong with it. */
export const runMessage = settingsReader(RunMessage)

const isAddress = Schema.is(Address)
const isHook = Schema.is(HookUrl)

const targetsOf: {
  readonly [C in ExternalChannel]: (to: ReadonlyArray<string>) => Either.Either<NotificationTargets, string>
} = {
  email: (to) =>
    to.every((one) => isAddress(one)) ? Either.right({ email: to }) : Either.left("to is an e-mail address"),
  team_chat: (to) =>
    to.every((one) => isHook(one))
      ? Either.right({ teamChat: to })
      : Either.left("to is an address that begins with https://"),
  webhook: (to) =>
    to.every((one) => isHook(one))
      ? Either.right({ webhook: to })
      : Either.left("to is an address that begins with https://")
}

/** The targets that a message names; `undefined`: those of the configuration. Left: what is wrong with them. */
export const namedTargets = (
  channel: ExternalChannel,
  { to }: RunMessage
): Either.Either<NotificationTargets | undefined, string> => {
  if (to === undefined || to === null || to.length === 0) return Either.right(undefined)
  return targetsOf[channel]([...new Set(typeof to === "string" ? [to] : to)])
}
