import { methods, type CancelNotification } from '@agentclientprotocol/sdk'
import type { AcpConnection } from './acp-connection.js'
import { AgentTimeout } from './acp-failure.js'

type CancellationDeps = {
  readonly connection: Pick<AcpConnection, 'notify'>
  readonly cancelGraceMs: number
}

/** Asks the agent once to end a turn. `expired` aborts if the agent has not done so in time. */
export class Cancellation {
  readonly #d: CancellationDeps
  readonly #sessionId: string
  readonly #onStart: () => void
  readonly #started = new AbortController()
  readonly #expired = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(d: CancellationDeps, sessionId: string, onStart: () => void) {
    this.#d = d
    this.#sessionId = sessionId
    this.#onStart = onStart
  }

  get started(): AbortSignal {
    return this.#started.signal
  }

  get expired(): AbortSignal {
    return this.#expired.signal
  }

  start(): void {
    if (this.started.aborted) return
    this.#started.abort()
    this.#onStart()
    const params: CancelNotification = { sessionId: this.#sessionId }
    this.#d.connection.notify(methods.agent.session.cancel, params)
    const expire = () => this.#expired.abort(new AgentTimeout('the agent did not end its turn'))
    this.#timer = setTimeout(expire, this.#d.cancelGraceMs)
  }

  dispose(): void {
    clearTimeout(this.#timer)
  }
}
