/** The guest cannot go on. `native`: the engine itself gave up, e.g. its own stack was too small for a built-in. */
export class GuestStopped extends Error {
  constructor(
    readonly reason: "memory" | "cpu" | "native" | "threw",
    readonly thrown: { readonly name: string; readonly message: string } = { name: "InternalError", message: reason }
  ) {
    super(thrown.message)
  }
}

/** Reads what the engine prints of an exception that nothing in the guest caught. `isFull`: its memory is used up. */
export const stoppedBy = (dump: string, isFull: boolean): GuestStopped => {
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
