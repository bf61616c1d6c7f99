import { isAgentName } from '@org/agent-messaging-core/host'
import { SetupError } from './setup-error.js'

/** Throws a `SetupError` that suggests a name, if a key is not a legal agent name. */
export function requireAgentNames(keys: readonly string[]): void {
  for (const key of keys) {
    if (isAgentName(key)) continue
    throw new SetupError(
      `${JSON.stringify(key)} is not a legal agent name; use ${JSON.stringify(legalAgentName(key))}`,
      2,
    )
  }
}

/** The nearest legal name: `mySupport_Agent` becomes `my-support-agent`. */
export function legalAgentName(key: string): string {
  const slug = key
    .normalize('NFKD')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, '')
  return isAgentName(slug) ? slug : 'agent'
}
