/** The address by which the outside reaches the service, without an ending slash: links that people get begin with it. */
import { Context } from "effect"

export class Origin extends Context.Tag("svc/Origin")<Origin, string>() {}
