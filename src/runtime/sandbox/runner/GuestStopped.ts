/** The guest cannot continue. `native`: the engine itself failed, e.g. a built-in overflowed the native stack. */
export class GuestStopped extends Error {
  constructor(
    readonly reason: "memory" | "cpu" | "native" | "threw",
    readonly thrown: { readonly name: string; readonly message: string } = { name: "InternalError", message: reason }
  ) {
    super(thrown.message)
  }
}

/** Parses the engine's dump of an exception that the guest did not catch. `isFull`: its memory is used up. */
export const readException = (dump: string, isFull: boolean): GuestStopped => {
  let name = "InternalError"
  let message = dump === "" ? "out of memory" : dump
  try {
    const read: unknown = JSON.parse(dump)
    if (typeof read === "object" && read !== null) {
      if ("name" in read) name = String(read.name)
      if ("message" in read) message = String(read.message)
    }
  } catch {
    // The dump of a thrown primitive is its text.
  }
  const memory = message === "out of memory" || (dump === "null" && isFull)
  return new GuestStopped(memory ? "memory" : "threw", { name, message: message.slice(0, 4000) })
}
