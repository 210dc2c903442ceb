/**
 * The library of `svc.step` and `svc.flow` as a script: a workflow that uses them brings it along, behind its own code, so
 * that the lines of that stay the same. The prelude takes it when the script is loaded; guests of other workflows do not
 * hold it.
 */
import { flowLibrary } from "../../../domain/expression/FlowLibrary.js"
import type { PatternProgram } from "../../../domain/expression/PatternProgram.js"
import { programOf } from "../runner/prelude/Prelude.js"
import run from "./Flow.guest.js"
import flowSteps from "./FlowSteps.guest.js"
import steps from "./Steps.guest.js"

const stepProgram = programOf(steps)
const flowProgram = programOf(`${flowSteps}\n${run}`)

/** The library of a workflow that uses `svc.step` only. */
export const stepScript = `globalThis.__library=(host)=>{"use strict";
${stepProgram}return{stepIn}};`

/** The library with `svc.flow`, and the compiled patterns of the workflow's conditions, by how they are written. */
export const flowScript = (patterns: { readonly [pattern: string]: PatternProgram }): string =>
  `globalThis.__library=(host)=>{"use strict";const expressions=${flowLibrary};const patterns=${JSON.stringify(patterns)};
${stepProgram}${flowProgram}return{stepIn,runFlow}};`
