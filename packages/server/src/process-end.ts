import type { RunningServer } from './server.js'
import type { Logger } from './logging.js'

/** Ctrl-C reaches the process from the terminal and again from npm, at once: within this time two signals are one. */
const SAME_SIGNAL_MS = 500

/** Drains on SIGTERM or SIGINT, or when its terminal is closed, and exits with 0; a second signal exits with 1 at once. */
export function stopOnSignal(server: RunningServer, graceMs: number, logger: Logger): void {
  let stoppingSince: number | undefined
  const stop = (signal: string): void => {
    if (stoppingSince !== undefined)
      return Date.now() - stoppingSince > SAME_SIGNAL_MS ? process.exit(1) : undefined
    stoppingSince = Date.now()
    const { runs } = server.service.load()
    logger.info({ signal, graceMs, runs }, 'stopping')
    // A warning, so that whoever waits at a terminal sees it too.
    if (runs > 0) {
      const until = new Date(stoppingSince + graceMs).toISOString()
      logger.warn(
        { runs, until },
        'runs under way are waited for; a second Ctrl-C (SIGINT or SIGTERM) ends at once',
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

/** A defect: nothing is known about this process any more, so it ends. What it was doing is done again after its leases. */
export function exitOnDefect(logger: Logger): void {
  process.on('uncaughtException', exitOn(logger)).on('unhandledRejection', exitOn(logger))
}

const exitOn = (logger: Logger) => (error: unknown) => {
  logger.error({ err: error }, 'the process ends on an error that nobody handled')
  process.exit(1)
}
