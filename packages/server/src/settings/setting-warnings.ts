import { nearestName } from '@org/agent-messaging-core/runtime'
import type { Variables } from './config.js'
import { environment } from './environment.js'
import { settingOfFile } from './setting-files.js'

/**
 * One line for each line of an `.env` file that sets nothing. Most lack the `=`.
 * The text of the line can be a secret and is not shown.
 */
export function envFileProblems(text: string): string[] {
  // Empties quoted values, which can span lines, and keeps their line breaks for the line numbers.
  const plain = text.replaceAll(
    /=[ \t]*(["'`])[^]*?\1/g,
    (value) => `=${value.replaceAll(/[^\n]/g, '')}`,
  )
  return plain.split('\n').flatMap((line, index) => {
    const isValid =
      line.trim() === '' ||
      line.trimStart().startsWith('#') ||
      /^\s*(?:export\s+)?[\w.-]+\s*=/.test(line)
    return isValid ? [] : [`.env line ${index + 1} is ignored: expected NAME=value`]
  })
}

/**
 * One line for each unknown SERVICE_… variable, with a suggestion.
 * A name with odd characters can contain a secret value and is skipped.
 */
export function unknownVariables(env: Variables): string[] {
  const known = Object.keys(environment.shape)
  const unknown = Object.keys(env).filter(
    (name) =>
      /^SERVICE_\w+$/.test(name) && !known.includes(name) && settingOfFile(name) === undefined,
  )
  return unknown.map((name) => {
    const suggestion = nearestName(name, known)
    const hint = suggestion === undefined ? '' : `. Did you mean ${suggestion}?`
    return `${name} is ignored: there is no such setting${hint}`
  })
}

/** A line for a variable of OpenTelemetry that asks for logs. */
export function unsupportedLogs({ OTEL_LOGS_EXPORTER: exporter = '' }: Variables): string[] {
  if (exporter === '' || exporter === 'none') return []
  return ['OTEL_LOGS_EXPORTER is not supported: the server does not export its logs']
}
