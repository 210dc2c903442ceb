/** Orders to a connection's actor, each with the answer that belongs to it. */
import { Effect } from "effect"
import type { CommandResult, ConnectionCommand, CommandRefusal } from "./Protocol.js"

type Ordered<Tag extends ConnectionCommand["_tag"]> = Omit<Extract<ConnectionCommand, { readonly _tag: Tag }>, "_tag">

/** The actor as a client of the cluster sees it. `E`: what the cluster may answer in its place. */
interface Actor<E> {
  readonly CarryOut: (payload: {
    readonly order: ConnectionCommand
  }) => Effect.Effect<CommandResult, CommandRefusal | E>
}

export const makeActorClient = <E>(actor: Actor<E>) => {
  const ask = <Tag extends CommandResult["_tag"]>(order: ConnectionCommand, tag: Tag) =>
    Effect.filterOrDieMessage(
      actor.CarryOut({ order }),
      (answer): answer is Extract<CommandResult, { readonly _tag: Tag }> => answer._tag === tag,
      `The order ${order._tag} was not answered with ${tag}`
    )
  const done = (order: ConnectionCommand) => Effect.asVoid(ask(order, "Done"))

  return {
    /** Null: connected, and nobody is needed. */
    create: (order: Ordered<"Create">) =>
      Effect.map(ask({ _tag: "Create", ...order }, "Opened"), ({ session }) => session),
    storeCredential: (order: Ordered<"StoreCredential">) => done({ _tag: "StoreCredential", ...order }),
    reconnect: (order: Ordered<"Reconnect">) =>
      Effect.flatMap(ask({ _tag: "Reconnect", ...order }, "Opened"), ({ session }) =>
        session === null ? Effect.dieMessage("A reconnect has no session") : Effect.succeed(session)
      ),
    test: (order: Ordered<"Test">) =>
      Effect.map(ask({ _tag: "Test", ...order }, "Tested"), ({ _tag, ...tested }) => tested),
    refresh: (order: Ordered<"Refresh">) => done({ _tag: "Refresh", ...order }),
    enable: (order: Ordered<"Enable">) => done({ _tag: "Enable", ...order }),
    disable: (order: Ordered<"Disable">) => done({ _tag: "Disable", ...order }),
    edit: (order: Ordered<"Edit">) => done({ _tag: "Edit", ...order }),
    reveal: (order: Ordered<"Reveal">) =>
      Effect.map(ask({ _tag: "Reveal", ...order }, "Revealed"), ({ secrets }) => secrets),
    disconnect: (order: Ordered<"Disconnect">) => done({ _tag: "Disconnect", ...order }),
    submit: (order: Ordered<"Submit">) =>
      Effect.map(ask({ _tag: "Submit", ...order }, "Advanced"), ({ outcome }) => outcome),
    complete: (order: Ordered<"Complete">) =>
      Effect.map(ask({ _tag: "Complete", ...order }, "Advanced"), ({ outcome }) => outcome),
    sign: (order: Ordered<"Sign">) => Effect.map(ask({ _tag: "Sign", ...order }, "Signed"), ({ headers }) => headers),
    renewRefused: (order: Ordered<"RenewRefused">) =>
      Effect.map(ask({ _tag: "RenewRefused", ...order }, "Renewed"), ({ newer }) => newer),
    look: (order: Ordered<"Look">) => done({ _tag: "Look", ...order }),
    abandon: (order: Ordered<"Abandon">) => done({ _tag: "Abandon", ...order })
  }
}
