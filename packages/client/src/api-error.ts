/** What the service refused, in its own words. Act on `code`; the message is for people. */
export class ApiError extends Error {
  /** The HTTP status. */
  readonly status: number
  /** Such as `NOT_FOUND`; `UNKNOWN` when the answer was not the service's, but a proxy's before it. */
  readonly code: string
  /** Which fields are wrong, where that is the reason. */
  readonly issues: readonly { readonly path: string; readonly message: string }[]
  /** To find the request in the service's log. */
  readonly requestId: string | undefined

  constructor(status: number, answer: string, requestId: string | null) {
    const error = errorIn(answer)
    super(error?.message ?? `HTTP ${status}: ${answer.slice(0, 200)}`)
    this.name = 'ApiError'
    this.status = status
    this.code = error?.code ?? 'UNKNOWN'
    this.issues = error?.issues ?? []
    this.requestId = requestId ?? undefined
  }
}

type ErrorBody = {
  readonly code: string
  readonly message: string
  readonly issues?: ApiError['issues']
}

function errorIn(answer: string): ErrorBody | undefined {
  try {
    const { error } = JSON.parse(answer) as { readonly error?: ErrorBody }
    return typeof error?.code === 'string' && typeof error.message === 'string' ? error : undefined
  } catch {
    return undefined
  }
}
