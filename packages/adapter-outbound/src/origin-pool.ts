import { openConnection, type Connection } from './connection.js'
import type { Dial } from './dial.js'
import type { Exchange } from './exchange.js'
import type { Unreachable } from './fault.js'

/** The connections to one origin, at most `limit`, and the requests that use them or wait for one. */
export class OriginPool {
  private readonly open: (onLost: () => void) => Connection
  private readonly limit: number
  private readonly idle: Connection[] = []
  private readonly busy = new Map<Exchange, Connection>()
  private readonly waiting = new Set<Exchange>()

  constructor(origin: string, dial: Dial, limit: number) {
    this.open = (onLost) => openConnection(origin, dial, onLost)
    this.limit = limit
  }

  /** Whether no request is under way. */
  get isIdle(): boolean {
    return this.busy.size === 0
  }

  start(exchange: Exchange): void {
    // The last used first: what is not needed goes cold and is dropped.
    const connection = this.idle.pop() ?? (this.busy.size < this.limit ? this.connect() : undefined)
    if (connection) this.assign(connection, exchange)
    else this.waiting.add(exchange)
  }

  /** The exchange has settled. Only after a complete answer is its connection fit for another. */
  ended(exchange: Exchange, isComplete: boolean): void {
    const connection = this.busy.get(exchange)
    if (!connection) return void this.waiting.delete(exchange)
    this.busy.delete(exchange)
    if (isComplete) this.idle.push(connection)
    else void connection.destroy()
    const [next] = this.waiting
    if (next && this.waiting.delete(next)) this.start(next)
  }

  /** Ends every request with `outcome` and closes all connections. */
  async close(outcome: Unreachable): Promise<void> {
    const connections = [...this.idle.splice(0), ...this.busy.values()]
    for (const exchange of [...this.waiting, ...this.busy.keys()]) exchange.giveUp(outcome)
    await Promise.all(connections.map((connection) => connection.destroy()))
  }

  private assign(connection: Connection, exchange: Exchange): void {
    this.busy.set(exchange, connection)
    connection.carry(exchange)
  }

  private connect(): Connection {
    const connection = this.open(() => {
      const at = this.idle.indexOf(connection)
      if (at >= 0) void this.idle.splice(at, 1)[0]?.destroy()
    })
    return connection
  }
}
