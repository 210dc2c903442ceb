/** Chooses which calls of a test reach the providers. */
import { Select } from "../../ui/Field.js"

export type CallsOfTest = "none" | "partial" | "full"

const choices: ReadonlyArray<readonly [CallsOfTest, string]> = [
  ["full", "None: fixtures and mocks answer"],
  ["partial", "Those without fixtures and mocks"],
  ["none", "All"]
]

export const MockField = ({
  onChange,
  value
}: {
  readonly value: CallsOfTest
  readonly onChange: (value: CallsOfTest) => void
}) => (
  <Select
    label="Calls that reach providers"
    value={value}
    onChange={(chosen) => onChange(chosen as CallsOfTest)}
    options={choices}
  />
)
