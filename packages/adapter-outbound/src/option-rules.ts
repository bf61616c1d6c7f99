import { z } from 'zod'

const MAX_TIMEOUT_MS = 24 * 3_600_000

/** A whole number from `min` to `max`, with words that follow the field's name. */
export const wholeNumber = (min: number, max: number) =>
  z
    .int('must be a whole number')
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`)

/** The option `timeoutMs`, of one run. */
export const timeoutMs = wholeNumber(1, MAX_TIMEOUT_MS)

/** The first thing that is wrong, as a sentence for who sent the options. */
export function sentence(error: z.ZodError, kind: string): string {
  const [issue] = error.issues
  if (issue?.code === 'unrecognized_keys')
    return `${[...issue.path, issue.keys[0]].join('.')} is not an option of ${kind} agents`
  return issue ? `${issue.path.join('.')} ${issue.message}` : 'options are not valid'
}
