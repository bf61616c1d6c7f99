import { Client } from 'undici'
import type { Dial } from './dial.js'
import type { Exchange } from './exchange.js'
import { Fault } from './fault.js'

/** One connection to one origin, for one request at a time. It is dialled when it has something to carry, and again after it was lost. */
export type Connection = {
  carry(exchange: Exchange): void
  /** Gives up dial, request and socket, whichever there are. */
  destroy(): Promise<void>
}

const MAX_HEAD_BYTES = 16 * 1024
/** Less than what common servers allow, so that we seldom write into a connection that is just being closed. */
const IDLE_MS = 4_000
/** For servers whose Keep-Alive header promises more. */
const MAX_IDLE_MS = 60_000

/**
 * `onLost` is called whenever the socket ends. An undici `Client` by itself and not its `Pool`, which dials again for a
 * request that was just aborted, and loses count of clients whose dial failed.
 */
export function openConnection(origin: string, dial: Dial, onLost: () => void): Connection {
  const aborter = new AbortController()
  let carried: Exchange | undefined
  const client = new Client(origin, {
    connect: (options, callback) => {
      dial(options, aborter.signal).then(
        (socket) => {
          socket.once('error', renameReset).once('end', () => carried?.resume())
          callback(null, socket)
        },
        (error: Error) => callback(error, null),
      )
    },
    maxHeaderSize: MAX_HEAD_BYTES,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: MAX_IDLE_MS,
    // The exchange has one deadline for everything.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  client.on('disconnect', onLost)
  return {
    carry: (exchange) => {
      carried = exchange
      client.dispatch(exchange.dispatched, exchange)
    },
    destroy: () => {
      aborter.abort(GIVEN_UP)
      return client.destroy(GIVEN_UP)
    },
  }
}

const GIVEN_UP = new Fault('connect', 'given up')

/**
 * undici takes an ECONNRESET for the end of an answer that has no length of its own: a broken answer would pass for whole.
 * Worse, if that answer is paused, an assertion of undici's fails and ends the process. It does so too when a connection ends
 * under a paused answer; hence the `resume` above, which comes before undici hears of the end.
 */
function renameReset(error: NodeJS.ErrnoException): void {
  if (error.code === 'ECONNRESET') error.code = 'ECONNABORTED'
}
