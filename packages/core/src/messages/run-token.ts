import type { Crypto } from '../ports/platform.js'

/**
 * Opens the callback route for one run of one message, and for nothing else. It carries the run's
 * lease token, so a superseded run's is refused, and it is stored nowhere: whoever has the master
 * key can check it, also one that has been replaced.
 */
export const runTokenOf = (crypto: Crypto, messageId: string, leaseToken: number): string =>
  `amr_${leaseToken}_${crypto.mac('run', `${messageId}.${leaseToken}`)}`

/** The lease token of a run token that is genuine for this message. */
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
