/** The service's public URL, without a trailing slash; links for people begin with it. */
import { Context } from "effect"

export class Origin extends Context.Tag("svc/Origin")<Origin, string>() {}
