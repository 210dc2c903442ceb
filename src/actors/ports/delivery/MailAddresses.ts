/**
 * The addresses to which notifications go: free text leaves for an address only once its owner has confirmed it.
 * Contract: notification record.
 */
import { Context, type Effect } from "effect"
import type { Unavailable } from "../../../domain/Failure.js"
import type { OrganisationId } from "../../../domain/Ids.js"

/** An address that is asked now, by a mail of a fixed form. */
export interface AskedAddress {
  readonly organisationId: OrganisationId
  readonly address: string
}

export class MailAddresses extends Context.Tag("svc/MailAddresses")<
  MailAddresses,
  {
    /**
     * Notes the addresses that configurations name; an address whose configuration was saved again may be asked again.
     * `seconds`: only of configurations that were saved so recently; `null`: of all.
     */
    readonly note: (seconds: number | null) => Effect.Effect<void, Unavailable>
    /**
     * Takes the next address that may be asked: once an hour over all organisations, and some an hour for one of them.
     * It is taken again after an hour unless its answer was noted. `undefined`: none now.
     */
    readonly takeUnasked: (tokenHash: string) => Effect.Effect<AskedAddress | undefined, Unavailable>
    /** The mail server took the mail of this token, or refused it for good. */
    readonly noteAnswered: (tokenHash: string) => Effect.Effect<void, Unavailable>
    /** Whether a link with this token was sent and not yet used. */
    readonly isAsked: (tokenHash: string) => Effect.Effect<boolean, Unavailable>
    /** Confirms the address of the token; `false` if there is none. */
    readonly confirm: (tokenHash: string) => Effect.Effect<boolean, Unavailable>
  }
>() {}
