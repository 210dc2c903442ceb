/** The largest diagram is laid out within seconds. */
import { it } from "@effect/vitest"
import { Either } from "effect"
import { analyse } from "../../../src/runtime/computing/workflow/Analyse.js"
import { drawSvg } from "../../../src/runtime/computing/workflow/Svg.js"
import { assertWithin } from "../../support/pace.js"

it("the largest diagram is laid out within seconds", () => {
  const step = "if (x.a) { await svc.connector.a.b() } else { try { await fetch('x') } catch { continue } }\n"
  const source = `export default async function (ctx) {\nfor (const x of ctx.input) {\n${step.repeat(400)}}\n}`
  const { diagram } = Either.getOrThrow(analyse(source))
  const start = performance.now()
  drawSvg(diagram)
  assertWithin(performance.now() - start, 5_000)
})
