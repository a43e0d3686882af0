import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { codegen } from "@graphql-codegen/core";
import * as schemaPlugin from "@graphql-codegen/typescript";
import * as operationsPlugin from "@graphql-codegen/typescript-operations";
import { parse, printSchema, type DocumentNode, type GraphQLSchema } from "graphql";
import ts from "typescript";

/** The TypeScript type of each custom scalar. A scalar that is missing here is an error. */
const scalars = { DateTime: "string", JSON: "unknown", Long: "number", UUID: "string" };
const config = { scalars, strictScalars: true, enumsAsTypes: true };

/** Generates the types of a schema with the most widely used generator. */
export function schemaTypes(schema: GraphQLSchema): Promise<string> {
  return codegen({
    filename: "schema.ts",
    schema: parse(printSchema(schema)),
    schemaAst: schema,
    documents: [],
    plugins: [{ schema: {} }],
    pluginMap: { schema: schemaPlugin },
    config,
  });
}

/** Generates the types of the variables and the answers of operations. */
export function operationTypes(schema: GraphQLSchema, document: DocumentNode): Promise<string> {
  return codegen({
    filename: "operations.ts",
    schema: parse(printSchema(schema)),
    schemaAst: schema,
    documents: [{ location: "operations.graphql", document }],
    plugins: [{ operations: {} }],
    pluginMap: { operations: operationsPlugin },
    config,
  });
}

/** Compiles these files; returns the compiler's errors. */
export function compile(files: Record<string, string>): string[] {
  const folder = mkdtempSync(join(tmpdir(), "carillon-codegen-"));
  try {
    const paths = Object.entries(files).map(([name, text]) => {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    });
    const program = ts.createProgram(paths, {
      strict: true,
      noEmit: true,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      allowImportingTsExtensions: true,
      types: [],
    });
    return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
      const line = file ? file.getLineAndCharacterOfPosition(start ?? 0).line + 1 : 0;
      const name = file?.fileName.split("/").at(-1) ?? "";
      return `${name}:${line}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
