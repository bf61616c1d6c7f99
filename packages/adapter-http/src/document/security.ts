const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', description })

/** Everything that opens a route. The roles named with `apiKey` are the permissions that the key must have. */
export const securitySchemes = {
  apiKey: bearer(
    'An API key of the project (`amk_…`). The roles are the permissions that it must have.',
  ),
  runToken: bearer(
    'The token of one run (`amr_…`), which a runtime gets with the message that it is to answer.',
  ),
  cronSecret: bearer('The operator’s CRON_SECRET.'),
  metricsToken: bearer('The operator’s token for metrics.'),
} as const

export type SecurityScheme = keyof typeof securitySchemes
