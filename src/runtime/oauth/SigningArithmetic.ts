/** Node's hashes behind the port `SigningArithmetic`. */
import { Layer } from "effect"
import { createHash, createHmac } from "node:crypto"
import { SigningArithmetic } from "../../actors/ports/connection/SigningArithmetic.js"

export const layer = Layer.succeed(
  SigningArithmetic,
  SigningArithmetic.of({
    hmac: (algorithm, key, data) => new Uint8Array(createHmac(algorithm, key).update(data).digest()),
    hash: (algorithm, data) => new Uint8Array(createHash(algorithm).update(data).digest())
  })
)
