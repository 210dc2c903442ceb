/** Sends commands to a connection's actor, one function per command, with the type of its result. */
import { Effect } from "effect"
import type { CommandResult, ConnectionCommand, CommandRefusal, PayloadOf } from "./Protocol.js"

/** The cluster's client of the actor. `E`: failures of the cluster itself. */
interface Actor<E> {
  readonly Execute: (payload: {
    readonly command: ConnectionCommand
  }) => Effect.Effect<CommandResult, CommandRefusal | E>
}

/** Makes the client of one connection's actor. */
export const makeActorClient = <E>(actor: Actor<E>) => {
  const ask = <Tag extends CommandResult["_tag"]>(command: ConnectionCommand, tag: Tag) =>
    Effect.filterOrDieMessage(
      actor.Execute({ command }),
      (answer): answer is Extract<CommandResult, { readonly _tag: Tag }> => answer._tag === tag,
      `The command ${command._tag} was not answered with ${tag}`
    )
  const done = (command: ConnectionCommand) => Effect.asVoid(ask(command, "Done"))

  return {
    storeCredential: (payload: PayloadOf<"StoreCredential">) => done({ _tag: "StoreCredential", ...payload }),
    reconnect: (payload: PayloadOf<"Reconnect">) =>
      Effect.map(ask({ _tag: "Reconnect", ...payload }, "Opened"), ({ session }) => session),
    test: (payload: PayloadOf<"Test">) =>
      Effect.map(ask({ _tag: "Test", ...payload }, "Tested"), ({ _tag, ...tested }) => tested),
    refresh: (payload: PayloadOf<"Refresh">) => done({ _tag: "Refresh", ...payload }),
    enable: (payload: PayloadOf<"Enable">) => done({ _tag: "Enable", ...payload }),
    disable: (payload: PayloadOf<"Disable">) => done({ _tag: "Disable", ...payload }),
    edit: (payload: PayloadOf<"Edit">) => done({ _tag: "Edit", ...payload }),
    reveal: (payload: PayloadOf<"Reveal">) =>
      Effect.map(ask({ _tag: "Reveal", ...payload }, "Revealed"), ({ secrets }) => secrets),
    disconnect: (payload: PayloadOf<"Disconnect">) => done({ _tag: "Disconnect", ...payload }),
    submit: (payload: PayloadOf<"Submit">) =>
      Effect.map(ask({ _tag: "Submit", ...payload }, "Advanced"), ({ outcome }) => outcome),
    complete: (payload: PayloadOf<"Complete">) =>
      Effect.map(ask({ _tag: "Complete", ...payload }, "Advanced"), ({ outcome }) => outcome),
    sign: (payload: PayloadOf<"Sign">) =>
      Effect.map(ask({ _tag: "Sign", ...payload }, "Signed"), ({ headers }) => headers),
    renewRefused: (payload: PayloadOf<"RenewRefused">) =>
      Effect.map(ask({ _tag: "RenewRefused", ...payload }, "Renewed"), ({ newer }) => newer),
    checkDue: (payload: PayloadOf<"CheckDue">) => done({ _tag: "CheckDue", ...payload }),
    abandon: (payload: PayloadOf<"Abandon">) => done({ _tag: "Abandon", ...payload })
  }
}
