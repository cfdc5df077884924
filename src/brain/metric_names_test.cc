#include "brain/metric_names.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace runnel::brain {
namespace {

TEST(MetricNames, AreMisspeltByALetterOrTwo) {
  const std::pair<const char*, const char*> pairs[] = {{"los", "loss"},
                                                       {"acuracy", "accuracy"},
                                                       {"accruacy", "accuracy"},
                                                       {"Accuracy", "accuracy"},
                                                       {"acc", "ACC"},
                                                       {"val-loss", "val_loss"},
                                                       {"eval.loss", "eval/loss"},
                                                       {"val_acuracy", "val_accuracy"},
                                                       {"lsos", "loss"}};
  for (const auto& [name, metric] : pairs) EXPECT_TRUE(looks_misspelt(name, metric)) << name;
}

TEST(MetricNames, OfAnotherWordOrNumberAreOtherMetrics) {
  const std::pair<const char*, const char*> pairs[] = {{"loss", "loss"},
                                                       {"train_accuracy", "val_accuracy"},
                                                       {"seconds", "accuracy"},
                                                       {"top5", "top1"},
                                                       {"accuracy_top5", "accuracy_top1"},
                                                       {"f1", "f"},
                                                       {"accuracy", "val_accuracy"},
                                                       {"acc", "accuracy"},
                                                       {"test_loss", "train_loss"},
                                                       {"mse", "mae"},
                                                       {"rmse", "mse"},
                                                       {"auc", "acc"},
                                                       {"val_auc", "val_acc"},
                                                       {"fpr", "tpr"},
                                                       {"psnr", "snr"},
                                                       {"mape", "map"},
                                                       {"ppl", "bpl"},
                                                       {"test_loss", "best_loss"}};
  for (const auto& [name, metric] : pairs) EXPECT_FALSE(looks_misspelt(name, metric)) << name;
}

}  // namespace
}  // namespace runnel::brain
