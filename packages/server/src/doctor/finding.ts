/** What one check came to. `warning` is worth knowing, and stops nothing. */
export type Finding = {
  readonly check: string
  readonly status: 'ok' | 'warning' | 'failed'
  readonly message: string
  /** What to do about it; absent when all is well. */
  readonly fix?: string
}

export const good = (check: string, message: string): Finding => ({ check, status: 'ok', message })
export const doubtful = (check: string, message: string, fix: string): Finding => ({
  check,
  status: 'warning',
  message,
  fix,
})
export const bad = (check: string, message: string, fix: string): Finding => ({
  check,
  status: 'failed',
  message,
  fix,
})

const MARKS = { ok: '✓', warning: '!', failed: '✗' } as const

export const shown = ({ check, status, message, fix }: Finding): string =>
  `${MARKS[status]} ${check}: ${message}${fix === undefined ? '' : `\n    ${fix}`}`
