import {
  failure,
  type Outcome,
  type SendRequest,
  success,
  type UnreachableError,
  type WebhookSender,
} from '@org/agent-messaging-core/runtime'

/** A receiver took it. */
export const accepted = (statusCode = 200): Outcome => ({
  kind: 'accepted',
  statusCode,
  responseBody: '',
})
/** A receiver said no, and perhaps when to come again. */
export const refused = (statusCode = 500, retryAfterMs?: number): Outcome => ({
  ...{ kind: 'refused', statusCode, responseBody: '' },
  ...(retryAfterMs !== undefined && { retryAfterMs }),
})
export const unreachable = (error: UnreachableError = 'connect'): Outcome => ({
  kind: 'unreachable',
  error,
  detail: `told: ${error}`,
})

/** A sender that records what it is given and answers as told; 200 unless told otherwise. */
export type FakeSender = WebhookSender & {
  /** Every request, in order. */
  readonly requests: readonly SendRequest[]
  /**
   * The outcome of the next requests, one each; the later ones come to `outcome` of the options
   * again.
   */
  script(...outcomes: readonly Outcome[]): void
  /** Requests stay open from now on. */
  hold(): void
  /** Ends holding. The held requests come to `outcome`, or else to their own outcome. */
  release(outcome?: Outcome): void
  /** Requests that are held open now. */
  readonly held: number
  /** `vet` refuses the URL with this reason. */
  refuse(url: string, reason: string): void
}

export type FakeSenderOptions = {
  readonly outcome?: (request: SendRequest) => Outcome | Promise<Outcome>
}

export function fakeSender({ outcome = () => accepted() }: FakeSenderOptions = {}): FakeSender {
  const requests: SendRequest[] = []
  const scripted: Outcome[] = []
  const refusals = new Map<string, string>()
  const held: ((outcome?: Outcome) => void)[] = []
  let isHolding = false

  return {
    requests,
    send: async (request) => {
      requests.push(request)
      const told = isHolding
        ? await new Promise<Outcome | undefined>((resolve) => held.push(resolve))
        : undefined
      return told ?? scripted.shift() ?? outcome(request)
    },
    vet: async (url) => {
      const reason = refusals.get(url)
      return reason === undefined ? success(undefined) : failure(reason)
    },
    script: (...outcomes) => void scripted.push(...outcomes),
    hold: () => {
      isHolding = true
    },
    release: (told) => {
      isHolding = false
      for (const end of held.splice(0)) end(told)
    },
    get held() {
      return held.length
    },
    refuse: (url, reason) => void refusals.set(url, reason),
  }
}
