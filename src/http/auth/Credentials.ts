/**
 * What the kinds of credentials have in common. A reader reads the credentials of one kind; authentication itself
 * applies to all: it counts refused attempts, audits them, and checks organisation, address, Test mode and workspace.
 */
import { Context, type Effect, type Option } from "effect"
import type { KnownKey } from "../../actors/ports/organisation/Keys.js"
import type { Caller } from "../../domain/access/Caller.js"
import type { Failure } from "../../domain/Failure.js"
import type { SpaceId } from "../../domain/Ids.js"
import type { LazyRequest, RequestHead } from "../Wire.js"

/** A credential that exists. */
export interface KnownCredential {
  readonly caller: Caller
  readonly organisation: KnownKey["organisation"]
  readonly spaceId: SpaceId
  /**
   * Why the credential itself admits its caller no more; `undefined` if it does. `toRefresh`: it is sent to be refreshed.
   * `now`: Unix milliseconds.
   */
  readonly refusal: (now: number, use: { readonly toRefresh: boolean }) => Failure | undefined
  /**
   * Verifies the whole request, its body included, after the caller was admitted; `undefined`: the head suffices. Wrong
   * signatures fail with `IDENTITY_HMAC_INVALID` and are limited.
   */
  readonly verify: ((request: LazyRequest, now: number) => Effect.Effect<void, Failure>) | undefined
  /** Records that the credential was used. */
  readonly recordUse: (now: number) => void
}

/** A credential that has the form of its kind, and may exist. */
export interface PresentedCredential {
  /** Synchronous, for the hot path; `undefined`: only `find` can tell. */
  readonly findCached: (now: number) => KnownCredential | undefined
  readonly find: () => Effect.Effect<Option.Option<KnownCredential>, Failure>
  /** Whether the credential may exist: a cheap question, asked before `find` where the address sent many unknown ones. */
  readonly mayExist: () => Effect.Effect<boolean, Failure>
  /** The message to a caller whose credential does not exist. */
  readonly unknownMessage: string
}

/** Reads the credentials of one kind, known by their form, without a look-up. */
export interface CredentialReader {
  /** Only where pages may call: surfaces A and C. */
  readonly isForPages?: boolean
  /**
   * `text`: what the request sends in the headers for credentials; `undefined`: nothing. A credential that is sent
   * elsewhere, as a cookie is, counts only then. `undefined`: this is no credential of the kind.
   */
  readonly read: (text: string | undefined, request: RequestHead) => PresentedCredential | undefined
}

/** The readers of all kinds besides API keys, in the order in which they are asked. */
export class CredentialReaders extends Context.Reference<CredentialReaders>()("svc/CredentialReaders", {
  defaultValue: (): ReadonlyArray<CredentialReader> => []
}) {}
