import { didYouMean } from '@org/agent-messaging-core/runtime'
import { SetupError } from './setup-error.js'

/** Throws a `SetupError` that names an option which a caller without types has mistyped. */
export function requireKnownOptions(options: object, known: object): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name))
  if (unknown === undefined) return
  const names = Object.keys(known)
  throw new SetupError(
    `${JSON.stringify(unknown)} is not an option${didYouMean(unknown, names)}; the options are ${names.join(', ')}`,
    2,
  )
}
