/** The table of step types. Specification: Workflow (step form), step types. */
import type { StepType } from "./StepType.js"
import { action } from "./types/Action.js"
import { approval } from "./types/Approval.js"
import { gate } from "./types/Gate.js"
import { loop } from "./types/Loop.js"
import { notification } from "./types/Notification.js"
import { wait } from "./types/Wait.js"

/** All types, in the order of the specification. */
export const stepTypes: ReadonlyArray<StepType> = [action, wait, approval, notification, gate, loop]
