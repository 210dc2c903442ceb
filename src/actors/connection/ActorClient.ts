/** Sends commands to a connection's actor, one function per command, with the type of its result. */
import { Effect } from "effect"
import type { CommandResult, ConnectionCommand, CommandRefusal } from "./Protocol.js"

type CommandPayload<Tag extends ConnectionCommand["_tag"]> = Omit<
  Extract<ConnectionCommand, { readonly _tag: Tag }>,
  "_tag"
>

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
    /** `null`: the connection is active and needs no connect session. */
    create: (payload: CommandPayload<"Create">) =>
      Effect.map(ask({ _tag: "Create", ...payload }, "Opened"), ({ session }) => session),
    storeCredential: (payload: CommandPayload<"StoreCredential">) => done({ _tag: "StoreCredential", ...payload }),
    reconnect: (payload: CommandPayload<"Reconnect">) =>
      Effect.flatMap(ask({ _tag: "Reconnect", ...payload }, "Opened"), ({ session }) =>
        session === null ? Effect.dieMessage("A reconnect has no session") : Effect.succeed(session)
      ),
    test: (payload: CommandPayload<"Test">) =>
      Effect.map(ask({ _tag: "Test", ...payload }, "Tested"), ({ _tag, ...tested }) => tested),
    refresh: (payload: CommandPayload<"Refresh">) => done({ _tag: "Refresh", ...payload }),
    enable: (payload: CommandPayload<"Enable">) => done({ _tag: "Enable", ...payload }),
    disable: (payload: CommandPayload<"Disable">) => done({ _tag: "Disable", ...payload }),
    edit: (payload: CommandPayload<"Edit">) => done({ _tag: "Edit", ...payload }),
    reveal: (payload: CommandPayload<"Reveal">) =>
      Effect.map(ask({ _tag: "Reveal", ...payload }, "Revealed"), ({ secrets }) => secrets),
    disconnect: (payload: CommandPayload<"Disconnect">) => done({ _tag: "Disconnect", ...payload }),
    submit: (payload: CommandPayload<"Submit">) =>
      Effect.map(ask({ _tag: "Submit", ...payload }, "Advanced"), ({ outcome }) => outcome),
    complete: (payload: CommandPayload<"Complete">) =>
      Effect.map(ask({ _tag: "Complete", ...payload }, "Advanced"), ({ outcome }) => outcome),
    sign: (payload: CommandPayload<"Sign">) =>
      Effect.map(ask({ _tag: "Sign", ...payload }, "Signed"), ({ headers }) => headers),
    renewRefused: (payload: CommandPayload<"RenewRefused">) =>
      Effect.map(ask({ _tag: "RenewRefused", ...payload }, "Renewed"), ({ newer }) => newer),
    checkDue: (payload: CommandPayload<"CheckDue">) => done({ _tag: "CheckDue", ...payload }),
    abandon: (payload: CommandPayload<"Abandon">) => done({ _tag: "Abandon", ...payload })
  }
}
