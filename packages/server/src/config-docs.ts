import { environment, variables } from './environment.js'

const rows = () =>
  Object.entries(environment.shape).map(([name, schema]) => ({
    name,
    about: variables.get(schema)?.about ?? '',
    allowed: variables.get(schema)?.allowed ?? '',
    byDefault: 'defaultValue' in schema.def ? schema.def.defaultValue : undefined,
  }))

/** The settings as a Markdown table. */
export function configMarkdown(): string {
  const lines = rows().map(
    ({ name, about, allowed, byDefault }) =>
      `| \`${name}\` | ${about} | ${allowed} | ${byDefault === undefined ? '' : `\`${byDefault}\``} |`,
  )
  return ['| Variable | Description | Value | Default |', '|---|---|---|---|', ...lines].join('\n')
}

/** The settings as an `.env` file in which every line is a comment. */
export function configEnv(): string {
  const entries = rows().map(
    ({ name, about, allowed, byDefault = '' }) =>
      `# ${about}\n# Value: ${allowed}\n# ${name}=${byDefault}\n`,
  )
  return [
    '# Copy this file to .env, which the server reads at startup.\n# Environment variables override its lines.\n',
    ...entries,
  ].join('\n')
}
