/** The result of one check. A `warning` does not prevent a start. */
export type Finding = {
  readonly check: string
  readonly status: 'ok' | 'warning' | 'failed'
  readonly message: string
  /** Tells the operator how to fix the problem. Absent if the check passed. */
  readonly fix?: string
}

export const passed = (check: string, message: string): Finding => ({
  check,
  status: 'ok',
  message,
})

export const warning = (check: string, message: string, fix: string): Finding => ({
  check,
  status: 'warning',
  message,
  fix,
})

export const failed = (check: string, message: string, fix: string): Finding => ({
  check,
  status: 'failed',
  message,
  fix,
})

const MARKS = { ok: '✓', warning: '!', failed: '✗' } as const

export const shown = ({ check, status, message, fix }: Finding): string =>
  `${MARKS[status]} ${check}: ${message}${fix === undefined ? '' : `\n    ${fix}`}`
