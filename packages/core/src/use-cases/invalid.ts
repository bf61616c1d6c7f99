import { err, type Err } from 'neverthrow'

/** The request breaks a rule. `path` is the field, dotted. */
export type Issue = { readonly path: string; readonly message: string }
export type Invalid = { readonly kind: 'invalid'; readonly issues: readonly Issue[] }

export const invalid = (path: string, message: string): Err<never, Invalid> =>
  err({ kind: 'invalid', issues: [{ path, message }] })

/** Ends with a sentence for the caller, or is undefined when the rule holds. */
export type Rule = string | undefined

/** The rules that do not hold, each under its field's name; undefined when all do. */
export function broken(rules: Readonly<Record<string, Rule>>): Err<never, Invalid> | undefined {
  const issues: Issue[] = []
  for (const [path, message] of Object.entries(rules))
    if (message !== undefined) issues.push({ path, message })
  return issues.length === 0 ? undefined : err({ kind: 'invalid', issues })
}
