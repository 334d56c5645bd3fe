/**
 * The deployment on AWS: `npx cdk deploy`. Two parameters must be there before it (see functions/README.md of layover). The
 * third, `shop-secret`, is that of the webhook.
 */
import { App, Stack } from "aws-cdk-lib";
import { Layover } from "layover/cdk";

/** The name of the stack, and the path of its parameters. */
const name = "layover";

const stack = new Stack(new App(), name);
new Layover(stack, "Layover", {
  entry: "functions/lambda.ts",
  parameters: `/${name}`,
  parameterNames: ["shop-secret"],
});
