export const isPostgresUrl = (text: string): boolean => /^postgres(ql)?:\/\//.test(text)
