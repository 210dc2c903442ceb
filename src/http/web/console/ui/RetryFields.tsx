/** How often something is tried again, and after which pauses. */
import { Select, TextField } from "./Field.js"

export interface RetryRuleForm {
  readonly maxAttempts: number
  readonly backoff: "exponential" | "linear" | "fixed"
  readonly initialMs: number
  readonly coefficient: number
  readonly maxMs: number
  readonly jitter: number
}

const numbers = [
  ["maxAttempts", "Attempts at most"],
  ["initialMs", "First pause in milliseconds"],
  ["coefficient", "Factor of each further pause"],
  ["maxMs", "Longest pause in milliseconds"],
  ["jitter", "Random part of a pause, 0 to 1"]
] as const

export const RetryFields = ({
  onChange,
  retry,
  wrong
}: {
  readonly retry: RetryRuleForm
  readonly onChange: (changed: Partial<RetryRuleForm>) => void
  readonly wrong: (name: string) => string | undefined
}) => (
  <>
    <Select
      label="Pauses"
      value={retry.backoff}
      onChange={(backoff) => onChange({ backoff: backoff as RetryRuleForm["backoff"] })}
      options={[
        ["exponential", "Grow by the factor"],
        ["linear", "Grow evenly"],
        ["fixed", "Stay the same"]
      ]}
      wrong={wrong("backoff")}
    />
    <div className="columns">
      {numbers.map(([name, label]) => (
        <TextField
          key={name}
          type="number"
          label={label}
          value={String(retry[name])}
          onChange={(value) => onChange({ [name]: Number(value) })}
          wrong={wrong(name)}
        />
      ))}
    </div>
  </>
)
