/** The engine's identity: only the engine that wrote a journal replays it. */
import { createHash } from "node:crypto"
import { prelude } from "./prelude/Prelude.js"
import { protocolVersion } from "./Protocol.js"

export { protocolVersion }

/** Sixteen hexadecimal digits over the wasm module, the prelude's text and the version of the protocol. */
export const engineIdentity = (wasm: Uint8Array): string =>
  createHash("sha256").update(wasm).update("|").update(prelude).update(`|${protocolVersion}`).digest("hex").slice(0, 16)
