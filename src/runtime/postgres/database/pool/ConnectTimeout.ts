/** How long this process waits for a connection to Postgres. Not for a node's seat and its health check, whose waits are theirs. */
import { Context, Duration } from "effect"

/** The longest wait for a free connection of a pool, and for a login. What waits longer fails, as with a lost connection. */
export class ConnectTimeout extends Context.Reference<ConnectTimeout>()("svc/ConnectTimeout", {
  defaultValue: () => Duration.seconds(5)
}) {}

/** How long a pool that cannot open its first connection tries again. A start waits; a command says at once what is wrong. */
export class StartWait extends Context.Reference<StartWait>()("svc/StartWait", {
  defaultValue: () => Duration.zero
}) {}
