/** The hash functions that connectors' own schemes sign requests with. */
import { Context } from "effect"
import type { SigningDigests } from "../../../domain/connector/request/Signing.js"

export class SigningArithmetic extends Context.Tag("svc/SigningArithmetic")<SigningArithmetic, SigningDigests>() {}
