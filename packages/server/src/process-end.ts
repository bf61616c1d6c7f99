import type { Logger } from './telemetry/logging.js'
import type { RunningServer } from './server.js'

/** Under npm, one Ctrl-C sends two signals. Signals within this time count as one. */
const SAME_SIGNAL_MS = 500

/** Stops the server on SIGTERM, SIGINT or SIGHUP and exits with 0. A second signal exits with 1. */
export function stopOnSignal(server: RunningServer, graceMs: number, logger: Logger): void {
  let stoppingSince: number | undefined
  const stop = (signal: string): void => {
    if (stoppingSince !== undefined)
      return Date.now() - stoppingSince > SAME_SIGNAL_MS ? process.exit(1) : undefined
    stoppingSince = Date.now()
    const { runs } = server.service.load()
    logger.info({ signal, graceMs, runs }, 'stopping')
    // A warning, because `dev` does not log lower levels.
    if (runs > 0) {
      const until = new Date(stoppingSince + graceMs).toISOString()
      logger.warn(
        { runs, until },
        'waiting for runs to finish; a second Ctrl-C (SIGINT or SIGTERM) exits at once',
      )
    }
    server.stop({ graceMs }).then(
      () => {
        logger.info({ tookMs: Date.now() - (stoppingSince ?? 0) }, 'stopped')
        process.exit(0)
      },
      (error: unknown) => exitOn(logger)(error),
    )
  }
  process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', stop)
}

/** Exits on an unexpected error. Another process repeats the unfinished work after its leases. */
export function exitOnDefect(logger: Logger): void {
  process.on('uncaughtException', exitOn(logger)).on('unhandledRejection', exitOn(logger))
}

const exitOn = (logger: Logger) => (error: unknown) => {
  logger.error({ err: error }, 'exiting because of an unhandled error')
  process.exit(1)
}
