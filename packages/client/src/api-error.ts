/** An error response of the service. Programs use `code`. The message is for people. */
export class ApiError extends Error {
  /** The HTTP status. */
  readonly status: number
  /** A code such as `NOT_FOUND`, or `UNKNOWN` for a response of a proxy. */
  readonly code: string
  /** The invalid fields of the request, if any. */
  readonly issues: readonly { readonly path: string; readonly message: string }[]
  /** Identifies the request in the service's log. */
  readonly requestId: string | undefined

  constructor(status: number, body: string, requestId: string | null) {
    const error = errorIn(body)
    super(error?.message ?? `HTTP ${status}: ${body.slice(0, 200)}`)
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

function errorIn(body: string): ErrorBody | undefined {
  try {
    const { error } = JSON.parse(body) as { readonly error?: ErrorBody }
    return typeof error?.code === 'string' && typeof error.message === 'string' ? error : undefined
  } catch {
    return undefined
  }
}
