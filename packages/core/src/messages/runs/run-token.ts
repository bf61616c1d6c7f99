import type { Crypto } from '../../ports/platform.js'

/**
 * Returns a token that authorizes the callback of one run. It contains the run's lease token, so
 * the token of a superseded run is refused. It is not stored: the master key, or one that it
 * replaced, checks it.
 */
export const runTokenOf = (crypto: Crypto, messageId: string, leaseToken: number): string =>
  `amr_${leaseToken}_${crypto.mac('run', `${messageId}.${leaseToken}`)}`

/** Returns the lease token of a run token that belongs to this message. */
export function readRunToken(
  crypto: Crypto,
  messageId: string,
  runToken: string,
): number | undefined {
  const [, leaseToken, code = ''] = /^amr_(\d{1,15})_(.+)$/.exec(runToken) ?? []
  return leaseToken !== undefined && crypto.isMac('run', `${messageId}.${leaseToken}`, code)
    ? Number(leaseToken)
    : undefined
}
