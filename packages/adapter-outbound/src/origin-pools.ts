import { Connection } from './connection.js'
import type { Dial } from './dial.js'
import type { Exchange } from './exchange.js'
import { unreachable, type Unreachable } from './fault.js'

export type OriginLimits = { readonly connectionsPerOrigin: number; readonly maxOrigins: number }

const UNUSED = unreachable('reset', 'the connection was not used any more')

/**
 * One pool of connections per origin. A new origin beyond `maxOrigins` closes an idle pool
 * that was unused for long.
 */
export class OriginPools {
  readonly #dial: Dial
  readonly #limits: OriginLimits
  /** Pools that were unused for long come first. */
  readonly #pools = new Map<string, OriginPool>()

  constructor(dial: Dial, limits: OriginLimits) {
    this.#dial = dial
    this.#limits = limits
  }

  /** Returns the pool of `origin`. If many are open, it becomes the most recently used one. */
  use(origin: string): OriginPool {
    const pool = this.#pools.get(origin) ?? this.#open(origin)
    // The order counts only when many are open. Each change of the order copies a table.
    if (this.#pools.size > this.#limits.maxOrigins / 2) this.#pools.delete(origin)
    if (!this.#pools.has(origin)) this.#pools.set(origin, pool)
    return pool
  }

  async close(outcome: Unreachable): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close(outcome)))
  }

  #open(origin: string) {
    for (const [unused, pool] of this.#pools) {
      if (this.#pools.size < this.#limits.maxOrigins) break
      if (!pool.isIdle) continue
      this.#pools.delete(unused)
      void pool.close(UNUSED)
    }
    return new OriginPool(origin, this.#dial, this.#limits.connectionsPerOrigin)
  }
}

/** The connections to one origin, at most `limit`, and the requests that use or wait for one. */
class OriginPool {
  readonly #origin: string
  readonly #dial: Dial
  readonly #limit: number
  readonly #idle: Connection[] = []
  readonly #busy = new Set<Connection>()
  readonly #waiting = new Set<Exchange>()

  constructor(origin: string, dial: Dial, limit: number) {
    this.#origin = origin
    this.#dial = dial
    this.#limit = limit
  }

  get isIdle(): boolean {
    return this.#busy.size === 0
  }

  start(exchange: Exchange): void {
    // The most recently used connection comes first, so that surplus ones time out.
    const connection = this.#idle.pop() ?? this.#connect()
    if (!connection) return void this.#waiting.add(exchange)
    this.#busy.add(connection)
    exchange.connection = connection
    connection.send(exchange)
  }

  /** Frees the connection of a settled exchange. Only a complete response leaves it reusable. */
  ended(exchange: Exchange, isComplete: boolean): void {
    const { connection } = exchange
    if (!connection) return void this.#waiting.delete(exchange)
    this.#busy.delete(connection)
    if (isComplete) this.#idle.push(connection)
    else void connection.destroy()
    const [next] = this.#waiting
    if (next && this.#waiting.delete(next)) this.start(next)
  }

  /** Ends every request with `outcome` and closes all connections. */
  async close(outcome: Unreachable): Promise<void> {
    const busy = [...this.#busy]
    const connections = [...this.#idle.splice(0), ...busy]
    for (const exchange of this.#waiting) exchange.abort(outcome)
    for (const connection of busy) connection.abort(outcome)
    await Promise.all(connections.map((connection) => connection.destroy()))
  }

  #connect() {
    if (this.#busy.size >= this.#limit) return undefined
    return new Connection(this.#origin, this.#dial, (lost) => this.#drop(lost))
  }

  #drop(lost: Connection) {
    const at = this.#idle.indexOf(lost)
    if (at < 0) return
    this.#idle.splice(at, 1)
    void lost.destroy()
  }
}
