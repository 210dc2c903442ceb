/** The hashes by which customers' own schemes sign requests. */
import { Context } from "effect"
import type { SigningDigests } from "../../domain/connector/Signing.js"

export class SigningArithmetic extends Context.Tag("svc/SigningArithmetic")<SigningArithmetic, SigningDigests>() {}
