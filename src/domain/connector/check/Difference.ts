/** What a definition and a provider's document disagree about. */

/** Kinds of differences, with what they say. */
export const differenceCodes = {
  UNKNOWN_PATH: "the document has no such path",
  UNKNOWN_METHOD: "the document has the path with other methods only",
  UNKNOWN_PARAMETER: "the document has no such parameter",
  PARAMETER_PLACE: "the document has the parameter elsewhere",
  MISSING_PARAMETER: "the provider requires the parameter, which the action never sends",
  OPTIONAL_PARAMETER: "the provider requires the parameter, which the action's schema does not",
  UNKNOWN_BODY: "the document has no body",
  MISSING_BODY: "the provider requires a body",
  BODY_TYPE: "the document has no body of this type",
  UNKNOWN_MEMBER: "the document has no such member",
  MISSING_MEMBER: "the provider requires the member, which the action never sends",
  OPTIONAL_MEMBER: "the provider requires the member, which the action's schema does not",
  OTHER_TYPE: "the document has other types",
  UNKNOWN_WORD: "the document lacks words of the action's schema",
  UNREAD_MEMBER: "the document's answer has no such member"
} as const
export type DifferenceCode = keyof typeof differenceCodes

/** One difference. `entity`: the one whose map shows it. `at`: the place in the action or the entity. */
export interface Difference {
  readonly action: string
  readonly entity: string | undefined
  readonly at: string
  readonly code: DifferenceCode
  readonly message: string
}

/** A place that could not be compared, and why. */
export interface Uncompared {
  readonly action: string
  readonly at: string
  readonly reason: string
}

/** What comparing one action or entity found. */
export interface PartComparison {
  readonly differences: ReadonlyArray<Difference>
  readonly uncompared: ReadonlyArray<Uncompared>
}

/** Collects what is found about one action. */
export interface Findings {
  readonly add: (code: DifferenceCode, at: string, detail?: string) => void
  readonly skip: (at: string, reason: string) => void
  readonly comparison: () => PartComparison
}

export const makeFindings = (action: string, entity?: string): Findings => {
  const differences: Array<Difference> = []
  const uncompared: Array<Uncompared> = []
  return {
    add: (code, at, detail) =>
      differences.push({
        action,
        entity,
        at,
        code,
        message: `${differenceCodes[code]}${detail === undefined ? "" : `: ${detail}`}`
      }),
    skip: (at, reason) => uncompared.push({ action, at, reason }),
    comparison: () => ({ differences, uncompared })
  }
}
